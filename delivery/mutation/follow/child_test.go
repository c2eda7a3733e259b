package follow_test

// child runs the part of a test that another process plays.
func child() bool { return false }
