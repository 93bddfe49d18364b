import type { WorkflowFn } from "@uncaged/workflow";
import { apiAdapter, docAdapter, fileAdapter } from "../../src/entry/adapters.ts";

export const descriptor = {
  description: "works on files",
  roles: { wrote: { description: "writes", schema: {} } },
};

export const run: WorkflowFn = async function* ({ prompt }, { cwd = "" }) {
  const file = fileAdapter({ cwd });
  await file.write("docs/1.md", prompt, "overwrite");
  const [doc] = await docAdapter({ cwd }).get([1]);
  const list = await file.list("**/*.md");
  const broken = await file.unzip?.("docs/1.md").catch((error: unknown) => error);
  const api = apiAdapter({ timeoutMs: 1 });
  const content = [doc?.text, list.join(), broken instanceof Error, typeof api.request].join(" ");
  yield { role: "wrote", content, meta: {} };
  return { returnCode: 0, summary: "" };
};
