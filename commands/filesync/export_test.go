package filesync

// Before has a function called before each change of the disk.
func (d *Directory) Before(do func(change string)) { d.before = do }
