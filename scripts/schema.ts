// Writes the JSON Schema of step workflows, which is published as a file: bun scripts/schema.ts
import { join } from "node:path";
import { workflowSchema } from "../packages/workflow-steps/src/schema/schema.ts";

const file = join(import.meta.dir, "../packages/workflow-steps/schema/workflow.schema.json");
await Bun.write(file, `${JSON.stringify(workflowSchema(), null, 2)}\n`);
