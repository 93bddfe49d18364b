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
      isOver
      isThreadId
      keepAwait
      killed
      loadBundle
      mapPath
      maskOf
      newThreadId
      notFound
      notWaiting
      observe
      openRoot
      optionsOf
      pickThread
      positionOf
      readAttempts
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
      textOf
      timeoutStep
      type CollectOptions
      type Driven
      type Drivers
      type Driving
      type InputRequest
      type JournalPlace
      type Mask
      type Resolved
      type Root
      type Selector
      type StartRequest
      type VerifyOptions
      typesPath
      ulidTime
      valuesPath
      waiting
      wakesAt
      withStrictSchemas
      withValue
      wordsOf"
    `);
  });
});
