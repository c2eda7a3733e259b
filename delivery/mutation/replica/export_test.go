package replica

// Copy says how far the copy is; nil when there is none.
func (f *Follower) Copy() *Copy {
	if f.copy == nil {
		return nil
	}
	c := *f.copy
	return &c
}
