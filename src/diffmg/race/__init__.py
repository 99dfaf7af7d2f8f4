"""Search by real training: propose candidates, train many at once, train the best again, keep one and an ensemble."""
