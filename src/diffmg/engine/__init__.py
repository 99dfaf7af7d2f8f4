"""How products are computed: the reference, fused kernels, captured epochs, memory estimates."""
