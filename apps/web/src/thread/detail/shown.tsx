import { useMemo } from "react";
import { readJson } from "../../lib/json.ts";
import { Prose } from "../../ui/prose.tsx";
import { Value } from "../../ui/value.tsx";

type Props = { value: unknown; name: string; isMarkdown?: boolean };

/** A value of a step; JSON in a text as a tree. */
export function Shown({ value, name, isMarkdown = false }: Props) {
  const json = useMemo(() => (typeof value === "string" ? objectIn(value) : null), [value]);
  if (json !== null) return <Value value={json} name={name} />;
  if (typeof value === "string") return <Prose text={value} isMarkdown={isMarkdown} isOpen />;
  return <Value value={value} name={name} />;
}

const longestJson = 500_000;

function objectIn(text: string): object | null {
  if (text.length > longestJson || !/^\s*[{[]/.test(text)) return null;
  const { value } = readJson(text);
  return typeof value === "object" ? value : null;
}
