package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Program is an automation in the place where it runs.
type Program struct {
	*automation.Automation

	Slug     string // as events tell it: with the instance in front
	Instance string // full slug of the app instance it belongs to; "" for the workspace's own
	Ref      string // finds the same document again after a restart
}

// Place is where in an execution something happens.
type Place struct {
	Path      string // of the instruction; "output" for the output of the automation
	Iteration []int  // numbers of the iterations around it, the outermost loop first
	Ordinal   int    // how many effects the instruction had before, in this iteration
}

// Execution is one automation running once. Output, Err, Origin and Broke are set
// when it ended.
type Execution struct {
	ID      string
	Parent  *Execution // whose call started it; nil for the first of the tree
	At      Place      // of that call
	Program *Program
	Depth   int
	Input   *value.Object

	Output any               // Undefined when it yields nothing, and when it failed
	Err    *automation.Error // nil unless it failed; on the way up the same one
	Origin string            // ID of the execution that raised Err
	Broke  bool              // a break ended it

	local         locals
	answerIgnored bool // that $http leads nowhere was told
}

// HTTP is the value of $http in an execution that an endpoint started. It is a
// handle: it has no text and no JSON, and can be passed on to a called automation.
type HTTP struct{}

// LiveStream implements value.Stream: what has no JSON.
func (HTTP) LiveStream() {}
