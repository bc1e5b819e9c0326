package sandbox

import (
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
)

// Called returns the job of a call of the function with the parameters of code.call,
// whose arguments must be what it declares.
func (f Function) Called(params *value.Object) (Job, error) {
	given, err := Arguments(params)
	if err == nil && f.Parameters != nil {
		err = input.Compile(&automation.Automation{Arguments: f.Parameters, ValidateArguments: true}).Check(given)
	}
	return f.Job(given), err
}
