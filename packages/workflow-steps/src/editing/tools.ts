import { isRecord, type JsonSchema } from "@uncaged/workflow/editing";
import { builtInTools, documentedToolName, ownFieldNames } from "../document/tools.ts";

/** A tool with the schemas of its inputs. */
export type KnownTool = {
  name: string;
  description: string;
  properties: Readonly<Record<string, JsonSchema>>;
  required: readonly string[];
};

type Listed = { name: string; description: string; input: unknown };

/** Returns the server's tools. Lists a documented tool twice: with the documented names, and with its own names. */
export function toolsOf(listed: readonly Listed[]): KnownTool[] {
  return listed.flatMap((tool): KnownTool[] => {
    const { name, description, input } = tool;
    if (!isRecord(input) || !isRecord(input.properties)) return [];
    const properties = input.properties as KnownTool["properties"];
    const required = (Array.isArray(input.required) ? input.required : []).map(String);
    const own = { name, description, properties, required };
    const documented = documentedToolName(name);
    const taken = builtInTools[documented];
    if (!taken) return [own];
    const named = (field: string) => documentedField(field, taken);
    const renamed = Object.entries(properties).map(([field, one]) => [named(field), one] as const);
    return [
      {
        ...own,
        name: documented,
        properties: Object.fromEntries(renamed),
        required: required.map(named),
      },
      own,
    ];
  });
}

/** Returns the documented name of a tool's field, or the field's own name if none is documented. */
const documentedField = (field: string, taken: readonly string[]): string =>
  taken.find((one) => ownFieldNames.get(one) === field) ?? field;

/** Returns the names of tools for a list. A tool with two names has the documented name. */
export const documentedNames = (tools: readonly KnownTool[]): string[] => {
  const names = new Set(tools.map(({ name }) => name));
  return [...names].filter(
    (name) => documentedToolName(name) === name || !names.has(documentedToolName(name)),
  );
};
