"""What tests of real kernels, real browsers and real tools stand on."""
