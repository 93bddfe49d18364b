/** Params of a review: the number of files to read, and the file for the report. */
export type Options = { files: number; to: string | null };

const mostFiles = 50;

/** Reads `--params`. Throws for unknown or invalid params. */
export function optionsOf(params: unknown): Options {
  const { files = 6, to = null, ...rest } = (params ?? {}) as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new Error(`params has no ${JSON.stringify(unknown)}`);
  if (!Number.isInteger(files) || Number(files) < 1 || Number(files) > mostFiles) {
    throw new Error(
      `params.files is ${JSON.stringify(files)}, not a number from 1 to ${mostFiles}`,
    );
  }
  if (to !== null && (typeof to !== "string" || to === "")) {
    throw new Error(`params.to is ${JSON.stringify(to)}, not the path of a file`);
  }
  return { files: Number(files), to };
}
