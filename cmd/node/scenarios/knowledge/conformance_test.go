package knowledge_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// conformance says which tests have the rows of the knowledge contract's conformance list: the folder of a package, and its
// tests.
const conformance = `
1 2 34     cmd/node/scenarios/knowledge TestKnowledgeBases
3 4        cmd/node/scenarios/knowledge TestKnowledgeBases TestRightsOnDocuments
3          cmd/node/scenarios/knowledge TestDeletedKnowledgeBases
5 6 9 17   cmd/node/scenarios/knowledge TestDocuments
5          cmd/node/scenarios/nodes TestThreeNodesSearchAlike
7          cmd/node/scenarios/knowledge TestDocuments TestVectors
8          cmd/node/scenarios/knowledge TestDocuments TestSearch TestDocumentsOfAddresses
8          streams/knowledge TestTheFormerTextStaysUntilTheNewOneIsReady
10 11 12 13 cmd/node/scenarios/knowledge TestContentsOfFiles
10 13      commands/extract TestFilesAreRead
10         domain/knowledge TestAChunkKnowsItsPage
11 12      commands/extract TestFilesWithoutTextAreRefused TestHostilePDFsEndInABoundedError
13         domain/knowledge TestTheLanguageOfATextIsFound TestAShortTextHasTheLanguageOfItsBase
13 19      projections/fulltext TestAQueryFindsWhatItSays
14         domain/knowledge TestChunksAreTheGoldenOnes
15         cmd/node/scenarios/knowledge TestReindex TestVectors
15         streams/knowledge TestOtherRulesOfChunkingDivideDocumentsAgain
16         cmd/node/scenarios/knowledge TestDocuments TestVectors
16         domain/kbdocument TestExpiry
18         projections/fulltext TestBothWordsComeFirstAndTheShorterOfEquals TestScoresAreTheGoldenOnesAfterAnyOrderOfWrites
19 20 22   cmd/node/scenarios/knowledge TestSearch
21         projections/fulltext TestOnlyOurMarksAreInHTML
23         cmd/node/scenarios/knowledge TestSearch TestRightsOnDocuments TestAsk TestConversations TestMCPServer
24 25      cmd/node/scenarios/knowledge TestVectors
25         streams/knowledge TestAChangeOfModelsTriesAgain
26 58      cmd/node/scenarios/knowledge TestModelsOfWorkspaces TestKnowledgeBases
27 28 29   cmd/node/scenarios/knowledge TestAsk
28         commands/knowledge TestCitationsAreFilteredInAnyPieces
30         commands/knowledge TestAsk
30         cmd/node/scenarios/knowledge TestConversations
31         cmd/node/scenarios/knowledge TestAsk TestAskWithFailures
31         commands/llm TestFailures TestASilentProviderIsGivenUp TestACallEndsWithItsCaller
32 36 37   streams/crawler TestASiteIsReadAndReadAgain
33         streams/crawler TestWhatSitesAskFor TestNothingIsReadOfASiteWithoutReadableRobots TestWhatHeadersSayToCrawlers
33         streams/site TestRobotsOfSites
35         streams/crawler TestAHostIsLeftAloneBetweenRequests TestAHostThatAsksForAPauseIsLeftAlone
35         streams/site TestDocumentsOfOneHostTakeTurns
35 36      cmd/node/scenarios/knowledge TestTwoNodesLeaveAHostAlone TestPagesThatHaveNotChangedCallNoModel
38         streams/crawler TestManyPagesAreNotRemovedAtOnce TestManyDocumentsAreNotReplacedByOne TestNothingIsReadOfASiteWithoutReadableRobots
38         streams/crawler TestNothingIsRemovedWithoutAllSitemaps
39         streams/crawler TestWhatSitesAskFor TestNothingIsAskedOfAddressesThatAreNotPublic
39         cmd/node/scenarios/knowledge TestDocumentsOfAddresses
40 41      streams/crawler TestTrapsEnd TestEndlessSitesEnd TestASiteIsReadAndReadAgain TestADocumentGoesWhenItsPageIsAnotherOne
42 59      cmd/svc/fault TestKilledCrawlsAndDocumentsAreFinished
42         streams/crawler TestAnotherNodeGoesOn
43         streams/crawler TestACrawlIsCancelledAndGoneSourcesLoseTheirDocuments
43         cmd/node/scenarios/knowledge TestCrawls
44 45      cmd/node/scenarios/knowledge TestConversations
46 47      cmd/node/scenarios/knowledge TestConversations TestMessagesAcrossRestarts TestLimitsOfMessages
48         cmd/node/scenarios/knowledge TestMessagesAcrossRestarts
48         cmd/svc/fault TestKilledMessagesAreAnswered
49 50      cmd/node/scenarios/knowledge TestConversations TestMessagesAcrossNodes
51 52 53   cmd/node/scenarios/knowledge TestConversations
54         cmd/node/scenarios/knowledge TestConversations TestAgents
55         cmd/node/scenarios/knowledge TestMCPServer
56         cmd/node/scenarios/knowledge TestKnowledgeElsewhere TestKnowledgeBasesInArchives
57         cmd/node/scenarios/knowledge TestDeletedKnowledgeBases
61         cmd/node/scenarios/nodes TestThreeNodesSearchAlike
59 61      streams/knowledge TestEveryDocumentIsReadyOnceAlthoughNodesAreLost TestAPausedNodeIsTooLate
60         cmd/node/scenarios/knowledge TestSearch TestVectors TestCrawls
62         cmd/node/scenarios/knowledge TestRightsOnDocuments TestAsk
63         cmd/node/scenarios/knowledge TestKnowledgeOfAutomations TestAsTheSessionOfEventsAndSchedules
64         cmd/node/scenarios/knowledge TestUsageOfKnowledge
65         cmd/node TestTheCrawlerIsNotReadyWhenLocalAddressesAreProxied
`

func TestEveryRowOfTheContractHasATest(t *testing.T) {
	t.Parallel()
	rows := map[int]bool{}
	for line := range strings.Lines(strings.TrimSpace(conformance)) {
		fields := strings.Fields(line)
		for len(fields) > 0 {
			row, err := strconv.Atoi(fields[0])
			if err != nil {
				break
			}
			rows[row], fields = true, fields[1:]
		}
		files, err := filepath.Glob(filepath.Join("../../../..", fields[0], "*_test.go"))
		require.NoError(t, err)
		var code strings.Builder
		for _, path := range files {
			body, err := os.ReadFile(path)
			require.NoError(t, err)
			code.Write(body)
		}
		for _, name := range fields[1:] {
			require.Contains(t, code.String(), "func "+name+"(", "%s has no such test", fields[0])
		}
	}
	for row := range 65 {
		require.True(t, rows[row+1], "row %d", row+1)
	}
}
