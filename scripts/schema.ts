// Writes the published JSON Schemas of projects, fixtures, step workflows and agent graphs: bun scripts/schema.ts
import { join } from "node:path";
import { projectSchema } from "../packages/workflow/src/project/schema.ts";
import { fixtureSchema } from "../packages/workflow/src/host/fixture.ts";
import { graphSchema } from "../packages/workflow-graph/src/check/schema.ts";
import { workflowSchema } from "../packages/workflow-steps/src/document/schema.ts";

const packages = join(import.meta.dir, "../packages");
const write = (file: string, schema: object) =>
  Bun.write(join(packages, file), `${JSON.stringify(schema, null, 2)}\n`);

await write("workflow/schema/fixture.schema.json", fixtureSchema);
await write("workflow/schema/project.schema.json", projectSchema);
await write("workflow-steps/schema/workflow.schema.json", workflowSchema());
await write("workflow-graph/schema/graph.schema.json", graphSchema());
