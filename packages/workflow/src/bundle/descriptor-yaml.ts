import { LineCounter, parseDocument, stringify } from "yaml";
import type { Descriptor } from "../contract/contract.ts";
import { messageOf } from "../contract/error.ts";
import { toDescriptor } from "./descriptor.ts";
import { badDescriptor } from "./errors.ts";

/** Formats a descriptor as the YAML text beside its bundle. */
export const descriptorYaml = (descriptor: Descriptor): string =>
  stringify(descriptor, { aliasDuplicateObjects: false, lineWidth: 100 });

/**
 * Parses a descriptor from YAML. Errors name `file`.
 *
 * @throws WorkflowError `BAD_DESCRIPTOR`, with line and column for invalid YAML.
 */
export function readDescriptor(yaml: string, file: string): Descriptor {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  const hint = `add the bundle again to rewrite ${file}`;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw badDescriptor(`${file}:${line}:${col}: ${messageOf(error)}`, hint);
  }
  try {
    return toDescriptor(document.toJS());
  } catch (problem) {
    throw badDescriptor(`${file}: ${messageOf(problem)}`, hint);
  }
}
