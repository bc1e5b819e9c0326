package signing

// Forget drops what was remembered of verified tokens.
func (k *Keys) Forget() { k.verified.Clear() }
