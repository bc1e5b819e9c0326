// Package suites runs test suites of automations.
//
// A case runs in a real runtime whose surroundings are simulated: contexts, collections and counters are in memory,
// requests are answered by stubs, time and random bytes are those of the case, and what is recorded is only compared.
// So an automation does in a test what it does otherwise, and nothing leaves the test. See runtime.Simulation.
package suites
