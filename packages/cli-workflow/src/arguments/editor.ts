import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkflowError } from "@uncaged/workflow/host";
import type { Session } from "../program/session.ts";

/**
 * The text as a person has left it in `$VISUAL` or `$EDITOR`.
 * @throws WorkflowError `NO_EDITOR` (usage), `EDITOR_FAILED`.
 */
export async function editText(session: Session, name: string, text: string): Promise<string> {
  const editor = session.env.VISUAL || session.env.EDITOR;
  if (!editor) {
    throw new WorkflowError({
      code: "NO_EDITOR",
      kind: "usage",
      message: "there is no editor: neither VISUAL nor EDITOR is set",
      hint: 'set EDITOR, or give the change as JSON: --edit \'{"content":"…"}\'',
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "uncaged-workflow-"));
  try {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    await openEditor(session, editor, path);
    return readFileSync(path, "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

// $EDITOR is a command line and no path (`code --wait`): a shell reads it, as git has it read.
async function openEditor({ env, cwd }: Session, editor: string, path: string): Promise<void> {
  const child = Bun.spawn(["/bin/sh", "-c", `${editor} "$1"`, "sh", path], {
    stdio: ["inherit", "inherit", "inherit"],
    env,
    cwd,
  });
  const exitCode = await child.exited;
  if (exitCode === 0) return;
  throw new WorkflowError({
    code: "EDITOR_FAILED",
    kind: "failed",
    message:
      exitCode === 127
        ? `the editor was not found: ${editor}`
        : `the editor ended with exit code ${exitCode}: ${editor}`,
    hint: "nothing was forked; set EDITOR to an editor that works",
  });
}
