import type { AddedWorkflow } from "@uncaged/workflow-server/api-types";
import { ApiError } from "../api/request.ts";
import { addWorkflow } from "../api/workflows.ts";
import type { Upload } from "./files.ts";

/**
 * Sends files to be added under a name: one as it is, several by their texts.
 *
 * @throws ApiError when a file can't be read, or the server refuses.
 */
export async function send(name: string, { workflow, files }: Upload): Promise<AddedWorkflow> {
  const [[path, file] = ["", new Blob()], ...others] = files;
  if (others.length === 0)
    return await addWorkflow(name, workflow, new Blob([await read(path, file)]));
  const texts: Record<string, string> = {};
  for (const [each, one] of files) texts[each] = textOf(each, await read(each, one));
  return await addWorkflow(name, workflow, { files: texts });
}

// A browser does not read a file that has changed since it was chosen.
async function read(path: string, file: Blob): Promise<ArrayBuffer> {
  try {
    return await file.arrayBuffer();
  } catch {
    throw unreadable(
      `${path} can't be read any more`,
      "it may have changed since it was chosen: choose it again",
    );
  }
}

function textOf(path: string, bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(`${path} is no text in UTF-8`, "remove it, or write it as UTF-8");
  }
}

const unreadable = (message: string, hint: string): ApiError =>
  new ApiError(0, { code: "FILE_UNREADABLE", message, hint });
