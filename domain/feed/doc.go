// Package feed says what an event looks like to those who may read it, and which
// events somebody asks for: the same for lists, live streams, searches, webhooks
// and subscribers from outside.
package feed
