package machine

import (
	"math"
	"slices"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// answer sets what the endpoint answers: a part of it by its path, or several with
// an object. Only where $http is the handle of an endpoint can it be set. In a tree that
// nobody waits for, because an event or a schedule started it, it does nothing.
func (m *Machine) answer(b *branch, a assignment) *outcome {
	switch {
	case isHandle(b.x.local.vars["$http"]):
	case isHandle(m.root.Input.At("$http")):
		return m.raise(b, automation.Invalid("$http exists only in an automation started by an endpoint or a test; pass it on as an argument ($http: '{{$http}}')"))
	default:
		if !b.x.answerIgnored {
			b.x.answerIgnored = true
			m.notice(b, automation.Invalid("$http is ignored: no endpoint started this run, so nobody waits for an answer"))
		}
		return nil
	}
	if len(a.steps) > 1 {
		return m.answerPart(b, a)
	}
	parts, ok := a.value.(*value.Object)
	if !ok || a.kind == variable.Push {
		return m.raise(b, automation.Invalid("$http must be an object with status, headers, chunk or sseKeepAlive"))
	}
	for _, key := range headFirst(parts.Keys()) {
		part := assignment{steps: []expr.Step{a.steps[0], {Key: key}}, kind: a.kind, value: parts.At(key)}
		if out := m.answerPart(b, part); out != nil {
			return out
		}
	}
	return nil
}

// isHandle reports whether a value is the $http of an endpoint, also of one whose
// caller is gone because the tree was interrupted.
func isHandle(v any) bool {
	switch v.(type) {
	case HTTP, variable.LostStream:
		return true
	}
	return false
}

// headFirst puts the chunk behind what has to be said before it.
func headFirst(keys []string) []string {
	isChunk := func(key string) bool { return key == "chunk" }
	sorted := slices.DeleteFunc(slices.Clone(keys), isChunk)
	if slices.ContainsFunc(keys, isChunk) {
		sorted = append(sorted, "chunk")
	}
	return sorted
}

func (m *Machine) answerPart(b *branch, a assignment) *outcome {
	if a.kind != variable.Delete && value.IsUndefined(a.value) {
		return nil
	}
	if why := wrongPart(a); why != "" {
		return m.raise(b, automation.Invalid("%s: %s", pathText(a.steps), why))
	}
	if a.steps[1].Key == "chunk" {
		m.ask(b, Request{Kind: Chunk, Value: a.value}, result{})
		return nil
	}
	return m.write(b, Write{Context: a.steps[0].Key, Op: a.op()})
}

// wrongPart says what is wrong with a part of the answer, "" when nothing is.
func wrongPart(a assignment) string {
	part := a.steps[1].Key
	if part == "headers" {
		if _, ok := a.value.(*value.Object); !ok && len(a.steps) == 2 && a.kind != variable.Delete {
			return "headers are an object"
		}
		return ""
	}
	if len(a.steps) > 2 || a.kind == variable.Push || a.kind == variable.Delete {
		return "can only be set as a whole"
	}
	n, number := a.value.(float64)
	switch part {
	case "chunk":
		return ""
	case "status":
		if !number || n < 200 || n > 599 || n != math.Trunc(n) {
			return "a status is an integer from 200 to 599"
		}
		return ""
	case "sseKeepAlive":
		if !number || n < 0 {
			return "expected a number of milliseconds"
		}
		return ""
	}
	return "there are status, headers, chunk and sseKeepAlive"
}
