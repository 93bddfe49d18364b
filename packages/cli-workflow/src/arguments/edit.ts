import {
  type Keep,
  keptSteps,
  readThread,
  type Step,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import type { Session } from "../program/session.ts";
import { jsonOf } from "./json.ts";

/** What a fork changes of its last kept step. */
export type Edit = { content?: string; meta?: Record<string, unknown> };

/**
 * The change that `--edit` asks for: its JSON, or what a person makes of the step in an editor.
 * @throws WorkflowError `BAD_EDIT` (usage), `NOTHING_TO_EDIT`, `EDIT_CANCELLED`, and the editor's.
 */
export async function editOf(
  session: Session,
  ref: ThreadRef,
  keep: Keep | undefined,
  edit: string | true | undefined,
): Promise<Edit | undefined> {
  if (edit === undefined) return undefined;
  if (edit !== true) return checkEdit(await jsonOf("--edit", edit));
  const { steps } = await readThread(session.root, ref);
  const last = keptSteps(steps, keep).at(-1);
  const step = last === undefined ? undefined : steps[last];
  if (last === undefined || !step) {
    throw new WorkflowError({
      code: "NOTHING_TO_EDIT",
      kind: "usage",
      message: "no step is kept, so there is none to edit",
      hint: "keep one with --at-step or --from-role",
    });
  }
  const { editText } = await import("./editor.ts");
  return changeOf(step, await editText(session, `step-${last + 1}.txt`, stepText(step, last + 1)));
}

function checkEdit(value: unknown): Edit {
  const { content, meta, ...rest } = isObject(value) ? value : { "": value };
  const other = Object.keys(rest)[0];
  const good =
    other === undefined &&
    (content === undefined || typeof content === "string") &&
    (meta === undefined || isObject(meta)) &&
    (content !== undefined || meta !== undefined);
  if (good) return { content, meta };
  throw new WorkflowError({
    code: "BAD_EDIT",
    kind: "usage",
    message: "--edit takes an object with a content (a string), a meta (an object) or both",
    hint: 'for example: --edit \'{"content":"A better plan"}\'',
  });
}

const metaMark = "--- meta";
const contentMark = "--- content";

/** A step as a person edits it. */
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

/** What a person changed of a step. @throws WorkflowError `EDIT_CANCELLED`, `BAD_EDIT` (usage). */
export function changeOf(step: Step, text: string): Edit {
  const metaAt = text.indexOf(`\n${metaMark}\n`);
  const contentAt = text.indexOf(`\n${contentMark}\n`, metaAt);
  if (metaAt === -1 || contentAt === -1) {
    throw badFile(`the lines "${metaMark}" and "${contentMark}" must stay`);
  }
  const metaText = text.slice(metaAt + metaMark.length + 2, contentAt);
  const content = text.slice(contentAt + contentMark.length + 2).replace(/\n$/, "");
  const meta = metaOf(metaText);
  const sameMeta = Bun.deepEquals(meta, step.meta, true);
  if (sameMeta && content === step.content) throw cancelled();
  return { ...(content === step.content ? {} : { content }), ...(sameMeta ? {} : { meta }) };
}

function metaOf(text: string): Record<string, unknown> {
  try {
    const meta: unknown = JSON.parse(text);
    if (isObject(meta)) return meta;
  } catch (error) {
    throw badFile(`the meta is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw badFile("the meta is no JSON object");
}

function badFile(why: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_EDIT",
    kind: "usage",
    message: `the edited step can't be read: ${why}`,
    hint: "nothing was forked; try again",
  });
}

function cancelled(): WorkflowError {
  return new WorkflowError({
    code: "EDIT_CANCELLED",
    kind: "failed",
    message: "the step was not changed, so nothing was forked",
    hint: "to fork it as it is leave --edit out",
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
