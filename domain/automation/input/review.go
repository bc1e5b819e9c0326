package input

import (
	"regexp"
	"time"

	"svc/domain/automation"
)

// anyRules are the settings that refuse least. What a setting decides is judged when a
// document is saved; a review is the same whatever the settings are.
var anyRules = automation.Rules{Slug: regexp.MustCompile(``), MaxWait: 100 * 365 * 24 * time.Hour}

// Review reviews a document of an automation with its schemas.
func Review(doc any) automation.Review {
	parsed, faults := automation.Parse(doc, anyRules)
	return automation.NewReview(parsed, append(faults, Faults(parsed, faults)...))
}
