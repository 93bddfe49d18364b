import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporary, keptSteps } from "@uncaged/workflow/internal";
import type { ForkOptions, Keep, Step, ThreadRef } from "@uncaged/workflow/host";
import type { Session } from "../session/session.ts";
import { jsonOf } from "./values.ts";
import {
  badEdit,
  badEditedStep,
  editCancelled,
  editorFailed,
  noEditor,
  nothingToEdit,
} from "./errors.ts";

type Edit = NonNullable<ForkOptions["edit"]>;

/** Returns the change of `--edit`: the given JSON, or the changes that a person makes in a text editor. */
export async function editOf(
  session: Session,
  ref: ThreadRef,
  keep: Keep | undefined,
  edit: string | true | undefined,
): Promise<Edit | undefined> {
  if (edit === undefined) return undefined;
  if (edit !== true) return checkEdit(await jsonOf("--edit", edit));
  const { steps } = await session.host.read(ref);
  const last = keptSteps(steps, keep).at(-1);
  const step = last === undefined ? undefined : steps[last];
  if (last === undefined || !step) throw nothingToEdit();
  return changeOf(step, await editText(session, `step-${last + 1}.txt`, stepText(step, last + 1)));
}

function checkEdit(value: unknown): Edit {
  const { content, meta, ...rest } = isObject(value) ? value : { "": value };
  const isKnown = Object.keys(rest).length === 0 && (content ?? meta) !== undefined;
  const isText = content === undefined || typeof content === "string";
  if (isKnown && isText && (meta === undefined || isObject(meta))) return { content, meta };
  throw badEdit();
}

const metaMark = "--- meta";
const contentMark = "--- content";

export function stepText({ role, content, meta }: Step, number: number): string {
  return [
    `Step ${number}, ${role}. Change the meta (JSON) or the content, save, and close the editor.`,
    "Close it without a change to cancel.",
    metaMark,
    JSON.stringify(meta, null, 2),
    contentMark,
    `${content}\n`,
  ].join("\n");
}

/**
 * Returns the changes that a person made to a step.
 * @throws WorkflowError `EDIT_CANCELLED`, `BAD_EDIT` (usage).
 */
export function changeOf(step: Step, text: string): Edit {
  const marked = new RegExp(`\n${metaMark}\n([^]*?)\n${contentMark}\n([^]*?)\n?$`);
  const [, metaText, content] = marked.exec(text) ?? [];
  if (metaText === undefined || content === undefined) {
    throw badEditedStep(`the lines "${metaMark}" and "${contentMark}" must stay`);
  }
  const meta = metaOf(metaText);
  const sameMeta = Bun.deepEquals(meta, step.meta, true);
  if (sameMeta && content === step.content) throw editCancelled();
  return { ...(content === step.content ? {} : { content }), ...(sameMeta ? {} : { meta }) };
}

function metaOf(text: string): Record<string, unknown> {
  try {
    const meta: unknown = JSON.parse(text);
    if (isObject(meta)) return meta;
  } catch (error) {
    throw badEditedStep(
      `the meta is invalid JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  throw badEditedStep("the meta is not a JSON object");
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

async function editText(session: Session, name: string, text: string): Promise<string> {
  const editor = session.env.VISUAL || session.env.EDITOR;
  if (!editor) throw noEditor();
  const folder = makeTemporary("uncaged-workflow-");
  try {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    await openEditor(session, editor, path);
    return readFileSync(path, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// $EDITOR is a command line, not a path (`code --wait`). A shell runs it, as git does.
async function openEditor({ env, cwd }: Session, editor: string, path: string): Promise<void> {
  const command = ["/bin/sh", "-c", `${editor} "$1"`, "sh", path];
  const stdio = ["inherit", "inherit", "inherit"] as const;
  const exitCode = await Bun.spawn(command, { stdio: [...stdio], env, cwd }).exited;
  if (exitCode !== 0) throw editorFailed(editor, exitCode);
}
