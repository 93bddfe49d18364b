import { describe, expect, test } from "bun:test";
import { listOf } from "./entry-point.ts";

/* As `exports.test.ts`, of the agent graphs. */
describe("the exported names of the agent graphs", () => {
  test("of @uncaged/workflow-graph", () => {
    expect(listOf("workflow-graph/src/index")).toMatchInlineSnapshot(`
      "graphBundle
      graphIn
      type AgentAnswer
      type AgentRequest
      type AgentSurroundings
      type AgentTree
      type GraphAgents
      type GraphDescriptor
      type GraphDocument
      type GraphOptions
      type SubagentCall"
    `);
  });

  test("of @uncaged/workflow-graph/agents", () => {
    expect(listOf("workflow-graph/src/agents")).toMatchInlineSnapshot(`
      "agentsByName
      anthropicModels
      graphTools
      modelAgents
      openaiModels
      type ModelAgentsOptions
      type Models"
    `);
  });

  test("of @uncaged/workflow-graph/source", () => {
    expect(listOf("workflow-graph/src/source")).toMatchInlineSnapshot(`
      "checkedGraph
      graphSource
      isGraph
      providersOf
      type CheckedGraph
      type GraphSource"
    `);
  });

  test("of @uncaged/workflow-graph/document", () => {
    expect(listOf("workflow-graph/src/document")).toMatchInlineSnapshot(`
      "builtInTools
      checkGraph
      dataForms
      foreignFormat
      graphSchema
      newViolation
      nodeDefaults
      runBlocker
      type CheckOptions
      type GraphFindings
      type RunBlocker"
    `);
  });

  test("of @uncaged/workflow-graph/run", () => {
    expect(listOf("workflow-graph/src/run")).toMatchInlineSnapshot(`
      "foldRun
      importProblem
      logEntryOf
      runResult
      type ApprovalInput
      type GraphThread
      type LogType
      type RunRecord
      type RunResult
      type RunStatus
      type RunView
      type WorkflowLogEntry
      wholeLogEntry"
    `);
  });
});
