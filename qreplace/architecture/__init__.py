"""Error ledgers of pre-norm Transformer blocks in exact arithmetic (theory T10, QR 9.2, A.6).

Every number is an upper bound in rationals, in one norm: ``||X||_{2,inf}``, the largest l2 norm of
a token. ``norms``, ``attention``, ``mlp`` and ``moe`` bound one component each, ``field`` puts them
together to B, L_z, V and eta_G, and ``shares`` says what each component's own error costs.
"""
