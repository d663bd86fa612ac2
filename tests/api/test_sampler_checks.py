"""imbalanced-learn's own checks of samplers, as far as they apply.

Left out: those that ask for a ``sampling_strategy``, which is about class counts alone;
continuous and multilabel targets being refused, as the first are welcome here; sparse
matrices, which are refused with the way out.
"""

import numpy as np
import pytest
from imblearn.utils import estimator_checks as checks
from scipy import sparse

from tabtap.api import TabularAugmenter
from tabtap.errors import UserInputError

CHECKS = [
    checks.check_samplers_one_label,
    checks.check_samplers_fit_resample,
    checks.check_samplers_pandas,
    checks.check_samplers_list,
    checks.check_samplers_2d_target,
    checks.check_samplers_preserve_dtype,
    checks.check_samplers_string,
    checks.check_samplers_nan,
    checks.check_sampler_get_feature_names_out,
    checks.check_sampler_get_feature_names_out_pandas,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes(check, tiny, helpful):
    augmenter = TabularAugmenter(
        preset=tiny, evaluator="linear", referee=helpful, budget=10, random_state=0
    )

    check("TabularAugmenter", augmenter)


def test_a_sparse_matrix_is_refused_with_the_way_out(tiny):
    X = sparse.csr_matrix(np.eye(20))

    with pytest.raises(UserInputError, match="toarray"):
        TabularAugmenter(preset=tiny).fit_resample(X, [0, 1] * 10)
