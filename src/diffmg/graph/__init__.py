"""The network with its data: typed adjacencies, features, ids, and conversions."""
