// Package projections keeps the read models: what REST answers, lists and
// searches are served from, built from the event logs into BadgerDB.
//
// A Projection turns the events of one log into keys and values. Models follows
// both logs, hands every event to the projections of its log and moves the
// checkpoint in the same transaction, so that an event counts once however often
// it is delivered. The logs are the truth and this store is a copy: it may be
// deleted, is replaced when it is damaged, and is rebuilt beside the live one
// when it is asked for. A rebuilt model is byte-equal to the live one.
//
// A full disk refuses writes with ErrNoSpace and stops nothing else: see space.
//
// What cannot be applied stops its log and turns Health red. Nothing is skipped.
package projections
