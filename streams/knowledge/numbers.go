package knowledge

import (
	"context"
	"time"

	"svc/domain/activity"
	"svc/projections"
)

// numbersPeriod is how often the numbers of knowledge bases are recorded, by the clock: several nodes that have the
// partition one after the other record them as often as one.
const numbersPeriod = time.Hour

// recordNumbers records how many documents, passages and bytes the knowledge bases of the partition have, once an hour:
// of each base, and of each workspace.
func (p *partition) recordNumbers(ctx context.Context) error {
	now := p.Now()
	if p.numbersAt.IsZero() || now.Before(p.numbersAt) {
		if p.numbersAt.IsZero() {
			p.numbersAt = now.Truncate(numbersPeriod).Add(numbersPeriod)
		}
		return nil
	}
	p.numbersAt = now.Truncate(numbersPeriod).Add(numbersPeriod)
	r := p.Models.Reader()
	defer r.Close()
	var workspaceIDs []string
	err := projections.KBSources{}.Changed(r, 0, func(workspaceID string, _ uint64, _ time.Time) bool {
		if p.owns(workspaceID) {
			workspaceIDs = append(workspaceIDs, workspaceID)
		}
		return true
	})
	for i := 0; i < len(workspaceIDs) && err == nil; i++ {
		err = p.recordWorkspace(ctx, r, workspaceIDs[i])
	}
	return err
}

// recordWorkspace records the numbers of a workspace, if it has knowledge bases.
func (p *partition) recordWorkspace(ctx context.Context, r projections.Reader, workspaceID string) error {
	bases, err := p.Bases(ctx, workspaceID)
	if err != nil || len(bases) == 0 {
		return err
	}
	var all projections.KBCounts
	for _, b := range bases {
		c, err := projections.KBDocuments{}.Counts(r, workspaceID, b.ID)
		if err != nil {
			return err
		}
		all.Documents, all.Chunks, all.Bytes = all.Documents+c.Documents, all.Chunks+c.Chunks, all.Bytes+c.Bytes
		p.Used(ctx, workspaceID, activity.Usage{KnowledgeBase: b.Slug, Metrics: toLevels(c)})
	}
	p.Used(ctx, workspaceID, activity.Usage{Metrics: toLevels(all)})
	return nil
}

func toLevels(c projections.KBCounts) map[string]activity.Metric {
	return activity.Levels(map[string]float64{activity.Documents: float64(c.Documents), activity.Chunks: float64(c.Chunks), activity.Bytes: float64(c.Bytes)})
}
