import { describe, expect, test } from "bun:test";
import { listOf } from "./entry-point.ts";

/* As `exports.test.ts`, of the entry point for hosts. */
describe("the exported names for hosts that drive threads elsewhere", () => {
  test("of @uncaged/workflow/driver", () => {
    expect(listOf("workflow/src/driver")).toMatchInlineSnapshot(`
      "InfoLog
      Marks
      SharedEnv
      StackMapper
      answerStep
      blobIdOf
      blobsDir
      blobsNamedIn
      bundlePath
      capturePrints
      catchCrashes
      checkGiven
      checkParams
      checkThreadId
      compileForAnswer
      createLog
      createRoot
      cursorOf
      dataPath
      describeOutcome
      descriptorPath
      endedError
      engineFor
      forkRequest
      guardExit
      hasWords
      hashesOf
      infoPath
      isBlobId
      isOver
      isThreadId
      killed
      loadBundle
      mapPath
      maskOf
      movedError
      movesNotRunning
      namesIn
      newThreadId
      notFound
      notWaiting
      noteLocation
      observe
      openRoot
      optionsOf
      pickThread
      positionOf
      readAttempts
      readBlob
      readBundle
      readLines
      readLog
      readRegistry
      readValue
      readView
      recordEvents
      refusalLines
      refuse
      registryPath
      requestIdOf
      resolve
      roundsOf
      sealed
      searchText
      selectorsIn
      serialiseRegistry
      sharedIn
      takeWorkflow
      takenIds
      textOf
      timeoutStep
      type CollectOptions
      type Driven
      type Drivers
      type Driving
      type InputRequest
      type JournalPlace
      type Location
      type Mask
      type Resolved
      type Root
      type Selector
      type StartRequest
      type ThreadLog
      type VerifyOptions
      typesPath
      ulidTime
      valuesPath
      waiting
      wakesAt
      withStrictSchemas
      withValue
      wordsOf
      workflowOf
      worktreesDir"
    `);
  });
});
