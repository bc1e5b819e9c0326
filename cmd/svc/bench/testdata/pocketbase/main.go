// Command pocketbase is PocketBase as it ships, for the comparison of make bench-peers. It has a module of its own,
// so that its dependencies stay out of ours.
package main

import (
	"log"

	"github.com/pocketbase/pocketbase"
)

func main() {
	if err := pocketbase.New().Start(); err != nil {
		log.Fatal(err)
	}
}
