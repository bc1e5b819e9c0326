package extract

import (
	"fmt"
	"time"

	"github.com/andybalholm/cascadia"
	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xpath"
	"golang.org/x/net/html"

	"svc/domain/kbdocument"
)

// CSSProblem returns what is wrong with a CSS selector, "" for nothing.
func CSSProblem(selector string) string {
	if _, err := cascadia.ParseGroup(selector); err != nil {
		return "is no CSS selector: " + err.Error()
	}
	return ""
}

// XPathProblem returns what is wrong with an XPath expression, "" for nothing.
func XPathProblem(expression string) (problem string) {
	if _, err := compileXPath(expression); err != nil {
		return "is no XPath expression: " + err.Error()
	}
	return ""
}

// compileXPath compiles an expression. The library panics at some that are not well-formed.
func compileXPath(expression string) (compiled *xpath.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return xpath.Compile(expression)
}

// Bounds of selecting.
const (
	maxSelectNodes = 50_000
	selectTimeout  = 2 * time.Second
)

// selectParts removes what a selector leaves out of a page, and returns what it keeps, in the order of the page; nil
// when it says nothing about that. A page that is too large or takes too long is refused: some expressions take a time
// that grows with the square of the page.
func selectParts(root *html.Node, nodes int, s kbdocument.Selector) ([]*html.Node, error) {
	if s.IsZero() {
		return nil, nil
	}
	if nodes > maxSelectNodes {
		return nil, refuse(TooLarge, "the page has more than %d nodes, too many for a selector", maxSelectNodes)
	}
	type result struct {
		parts []*html.Node
		err   error
	}
	done := make(chan result, 1)
	go func() {
		parts, err := applySelector(root, s)
		done <- result{parts, err}
	}()
	select {
	case r := <-done:
		return r.parts, r.err
	case <-time.After(selectTimeout):
		return nil, refuse(Timeout, "selecting parts of the page took longer than %s", selectTimeout)
	}
}

func applySelector(root *html.Node, s kbdocument.Selector) (parts []*html.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // a panic of another goroutine ends the process
			err = fmt.Errorf("the selector cannot be used: %v", r)
		}
	}()
	for _, css := range s.Remove {
		group, err := cascadia.ParseGroup(css)
		if err != nil {
			return nil, err
		}
		for _, n := range cascadia.QueryAll(root, group) {
			if n.Parent != nil {
				n.Parent.RemoveChild(n)
			}
		}
	}
	switch {
	case s.CSS != "":
		group, err := cascadia.ParseGroup(s.CSS)
		if err != nil {
			return nil, err
		}
		parts = cascadia.QueryAll(root, group)
	case s.XPath != "":
		expression, err := compileXPath(s.XPath)
		if err != nil {
			return nil, err
		}
		for _, n := range htmlquery.QuerySelectorAll(root, expression) {
			if n.Type == html.ElementNode || n.Type == html.TextNode {
				parts = append(parts, n)
			}
		}
	default:
		return nil, nil
	}
	return outermost(parts), nil
}

// outermost returns the nodes that are not inside another of them.
func outermost(nodes []*html.Node) (list []*html.Node) {
	chosen := map[*html.Node]bool{}
	for _, n := range nodes {
		chosen[n] = true
	}
	list = []*html.Node{} // nothing was found: nothing is kept
	for _, n := range nodes {
		inside := false
		for up := n.Parent; up != nil; up = up.Parent {
			inside = inside || chosen[up]
		}
		if !inside {
			list = append(list, n)
		}
	}
	return list
}
