package expr

// Read is a variable that an expression reads.
type Read struct {
	// Keys are the keys of its path up to the first that is computed; none when the
	// first is.
	Keys []string
	// Tested says that only its presence or truth is looked at: whoever writes that
	// expects that it may be absent.
	Tested bool
}

// Reads visits the variables that the template reads, in the order of the text.
func (t *Template) Reads(visit func(Read)) {
	if t != nil {
		visitReads(t.root, false, visit)
	}
}

// Reads visits the variables that the condition reads.
func (c *Condition) Reads(visit func(Read)) {
	if c != nil {
		visitReads(c.root, true, visit)
	}
}

// Reads visits the variables that the keys of the target are computed from.
func (t *Target) Reads(visit func(Read)) {
	if t != nil {
		visitSteps(t.path.steps, visit)
	}
}

// Root returns the variable that a target writes to, "" when its name is computed.
func (t *Target) Root() string { return t.path.known()[0] }

// Reads visits the variables that the strings of the value read, with the path of the
// string, which begins with path.
func (t *Tree) Reads(path string, visit func(path string, r Read)) {
	t.Strings(path, func(path string, t *Template) {
		t.Reads(func(r Read) { visit(path, r) })
	})
}

// Strings visits the templates of the value with their paths, which begin with path.
func (t *Tree) Strings(path string, visit func(path string, t *Template)) {
	if t == nil || t.static {
		return
	}
	if t.template != nil {
		visit(path, t.template)
	}
	for i, item := range t.items {
		item.Strings(t.itemPath(path, i), visit)
	}
}

// known returns the keys of a path up to the first that is computed; "" stands for a
// first key that is.
func (p *path) known() []string {
	var keys []string
	for _, s := range p.steps {
		l, ok := s.(literal)
		if !ok {
			break
		}
		keys = append(keys, l.Key)
	}
	if keys == nil {
		return []string{""}
	}
	return keys
}

// visitReads visits what n reads. In a place where truth is all that counts, tested is true.
func visitReads(n node, tested bool, visit func(Read)) {
	switch n := n.(type) {
	case *path:
		r := Read{Tested: tested}
		if keys := n.known(); keys[0] != "" {
			r.Keys = keys
		}
		visit(r)
		visitSteps(n.steps, visit)
	case variable:
		visit(Read{Keys: []string{string(n)}, Tested: true})
	case block:
		visitReads(n.node, tested, visit)
	case not:
		visitReads(n.node, true, visit)
	case exists:
		visitReads(n.node, true, visit)
	case minus:
		visitReads(n.node, false, visit)
	case dateParts:
		visitReads(n.node, false, visit)
	case either:
		visitAll(n.items, true, visit)
	case both:
		visitAll(n.items, true, visit)
	case list:
		visitAll(n.items, false, visit)
	case object:
		visitAll(n.values, false, visit)
	case text:
		visitAll(n.parts, false, visit)
	case raw:
		visitAll(n.text.parts, false, visit)
	case comparison:
		// Comparing with nothing is a test too.
		nothing := isWrittenNothing(n.left) || isWrittenNothing(n.right)
		visitReads(n.left, nothing, visit)
		visitReads(n.right, nothing, visit)
	case matching:
		visitReads(n.left, false, visit)
		visitReads(n.right, false, visit)
	case chain:
		visitReads(n.first, false, visit)
		for _, l := range n.rest {
			visitReads(l.node, false, visit)
		}
	case call:
		visitAll(n.args, false, visit)
	case reached:
		visitReads(n.node, false, visit)
		visitSteps(n.path.steps, visit)
	}
}

func visitAll(nodes []node, tested bool, visit func(Read)) {
	for _, n := range nodes {
		visitReads(n, tested, visit)
	}
}

func visitSteps(steps []step, visit func(Read)) {
	for _, s := range steps {
		switch s := s.(type) {
		case keyed:
			visitReads(s.node, false, visit)
		case joined:
			visitAll(s.parts, false, visit)
		}
	}
}

// isWrittenNothing reports whether a node is null, undefined or the empty text, written out.
func isWrittenNothing(n node) bool {
	c, ok := n.(constant)
	if !ok {
		return false
	}
	if _, isText := c.v.(string); isText {
		return c.v == ""
	}
	switch c.v.(type) {
	case float64, bool:
		return false
	}
	return true
}
