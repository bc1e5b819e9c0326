// Package bench measures the service beside a control in the same run: what is
// promised are ratios, because absolute figures of a shared machine mean little.
// Each benchmark prints one line of JSON, and fails only when its counts are
// wrong; missing an aim is reported as "ok":false. They run with the build tag
// bench: make bench. What the lines mean is in docs/benchmarks.md.
package bench
