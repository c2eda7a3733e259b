package replica

// Copy gives the state of the copy; nil when there is none.
func (f *Follower) Copy() *Copy {
	if f.copy == nil {
		return nil
	}
	c := *f.copy
	return &c
}
