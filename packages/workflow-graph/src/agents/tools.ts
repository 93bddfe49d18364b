import {
  editFile,
  listFiles,
  readFile,
  runCommand,
  search,
  type ToolRegistry,
  toolRegistry,
  writeFile,
} from "@uncaged/workflow-agents";

/** The built-in tools: `readFile`, `writeFile`, `editFile`, `listFiles`, `search` and `runCommand`. */
export const graphTools = (): ToolRegistry =>
  toolRegistry([readFile, writeFile, editFile, listFiles, search, runCommand()]);
