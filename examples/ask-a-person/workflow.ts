// A person decides: an agent writes the announcement of a release, and a person approves it or requests a change. The
// file is written only after approval. No process runs while the question is open.
//
//     uncaged-workflow add announce examples/ask-a-person/workflow.ts
//     uncaged-workflow run announce --prompt 'Version 2: threads can be forked' --wait
//     uncaged-workflow resume @last --input 'Shorter, please' && uncaged-workflow follow @last
//     uncaged-workflow resume @last --input yes && uncaged-workflow follow @last
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRoleModerator, END, type Role, type WaitResult, waitFor } from "@uncaged/workflow";
import { describe, role, type ScriptedAnswer, scriptedAgent } from "@uncaged/workflow-agents";
import { z } from "zod";

const announcement: ScriptedAnswer = ({ start, steps }) =>
  steps.some((step) => step.role === "person") ? start.content : `We are glad: ${start.content}!`;

const writer = role({
  description: "Writes the announcement",
  // To use a model instead: anthropicAgent({ model: "claude-opus-5-5" })
  agent: scriptedAgent({ "You write": announcement }),
  systemPrompt: "You write the announcement of a release, and change it as the person asks.",
  schema: z.object({}),
});

const person: Role<WaitResult<string>> = async ({ steps }) =>
  waitFor("approval", {
    content: `${steps.at(-1)?.content}\n\nPublish it? Answer yes, or what to change.`,
    schema: { type: "string", minLength: 1 },
  });

const publisher: Role<{ file: string }> = async ({ steps, cwd }) => {
  const text = steps.findLast((step) => step.role === "writer")?.content ?? "";
  const file = join(cwd, "ANNOUNCEMENT.md");
  await writeFile(file, `${text}\n`);
  return { content: `written to ${file}`, meta: { file } };
};

export const descriptor = describe("Writes an announcement that a person approves", {
  writer,
  person: { description: "Approves, or describes what to change", schema: { required: ["value"] } },
  publisher: { description: "Writes the file", schema: { required: ["file"] } },
});

export const run = createRoleModerator({
  roles: { writer, person, publisher },
  moderator({ steps }) {
    const last = steps.at(-1);
    if (last?.role === "writer") return "person";
    if (last?.role === "person") return last.meta.value === "yes" ? "publisher" : "writer";
    return last ? END : "writer";
  },
});
