package sandbox

import (
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

// Called returns the job of a call of the function with the parameters of code.call. A
// parameter that the function declares and that is not given is undefined. Input is that of
// the calling execution: with `input: true` the function gets all of it, and arguments win.
func (f Function) Called(params, input *value.Object) (Job, error) {
	given, err := Arguments(params)
	if err != nil {
		return Job{}, err
	}
	if params.At("input") == true {
		all := &value.Object{}
		for _, o := range []*value.Object{input, given} {
			for _, key := range o.Keys() {
				all.Set(key, o.At(key))
			}
		}
		given = all
	}
	job := f.Job(given)
	job.Undefined = slices.Clone(f.Parameters.Keys())
	return job, nil
}

// Redacted returns an error without secrets in what code said, of which the end may have
// been cut off: the beginning of one may be left there, which is found nowhere else. Other
// errors, and the rest of it, are returned as they are.
func Redacted(err *automation.Error, secrets *redact.Set) *automation.Error {
	if err.Name != automation.CustomCodeFailed {
		return err
	}
	told := *err
	if message, cut := strings.CutSuffix(err.Message, cutMark); cut {
		told.Message = secrets.RedactCut(message) + cutMark
	}
	if logs, ok := err.Details.At("logs").([]any); ok {
		lines := make([]string, len(logs))
		for i, line := range logs {
			lines[i] = value.Text(line)
		}
		told.Details = err.Details.Copy()
		told.Details.Set("logs", value.From(Lines(lines, secrets)))
	}
	return &told
}

// Lines returns lines of the console without secrets, nor the beginning of one where no
// more of them were kept.
func Lines(lines []string, secrets *redact.Set) []string {
	told, size := make([]string, len(lines)), 0
	for i, line := range lines {
		size += len(line) + 1
		if told[i] = secrets.Text(line); i == len(lines)-1 && size >= maxLogs-utf8.UTFMax {
			told[i] = secrets.RedactCut(line)
		}
	}
	return told
}
