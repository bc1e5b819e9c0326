// Package triggers starts automations because an event was recorded, and takes care of
// trees whose node is gone: those that stood in a wait go on, others are begun again or
// recorded as interrupted.
//
// Workspaces are divided into shares, each looked after by one node. It reads the
// events of all workspaces in their order, and starts what listens. Where it is in the
// feed it saves only up to what is over: after a crash the events behind that are looked
// at again, and what the log knows to have ended is not started a second time. A
// workspace that has too much under way is read by itself, at its own pace, so that it
// does not hold up the others.
package triggers
