// Package e2e tests the web console with a real browser and the real binary: make e2e. Its
// tests run with the build tag e2e. README.md tells how to write one.
package e2e
