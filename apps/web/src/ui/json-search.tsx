import { ChevronDown, ChevronUp } from "lucide-react";
import { useEffect, useState } from "react";
import { count } from "../lib/format.ts";
import { finding, type JsonNode, nodeAt } from "../lib/json-nodes.ts";
import { writing } from "../lib/json-slices.ts";
import { inSlices } from "../lib/slices.ts";
import { Copy } from "./button.tsx";
import { IconButton } from "./icon-button.tsx";

/** The text of a value for the clipboard. */
export const jsonOf = (value: unknown): Promise<string> =>
  typeof value === "string" ? Promise.resolve(value) : inSlices(writing(value));

type SearchProps = {
  value: unknown;
  root: JsonNode;
  name: string;
  onFound: (node: JsonNode) => void;
};

type Found = { of: readonly number[][]; at: number };

/** The search field of a tree, and a button that copies its value. */
export function JsonSearch({ value, root, name, onFound }: SearchProps) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found | null>(null);
  useEffect(() => {
    setFound(null);
    if (text === "") return;
    const stop = new AbortController();
    inSlices(finding(value, text), stop.signal).then((of) => {
      setFound({ of, at: -1 });
    }, Boolean);
    return () => stop.abort();
  }, [value, text]);
  const go = (by: number) => {
    if (!found || found.of.length === 0) return;
    const next = (found.at + by + found.of.length) % found.of.length;
    setFound({ ...found, at: found.at < 0 && by < 0 ? found.of.length - 1 : next });
    const node = nodeAt(root, found.of[next] ?? []);
    if (node) onFound(node);
  };
  const total = found?.of.length ?? 0;
  return (
    <div className="flex items-center gap-1">
      <input
        type="search"
        className="h-8 min-w-0 max-w-72 flex-1 rounded-md border border-line-control bg-surface px-2 text-small max-sm:h-10"
        aria-label={`Search in ${name}`}
        placeholder="Search names and values"
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          go(event.shiftKey ? -1 : 1);
        }}
      />
      {text !== "" && (
        <>
          <span className="px-1 text-small whitespace-nowrap text-muted" role="status">
            {found === null
              ? "Searching…"
              : total === 0
                ? "None found"
                : found.at < 0
                  ? `${count(total)} found`
                  : `${count(found.at + 1)} of ${count(total)}`}
          </span>
          <IconButton icon={<ChevronUp />} label="Previous match" onClick={() => go(-1)} />
          <IconButton icon={<ChevronDown />} label="Next match" onClick={() => go(1)} />
        </>
      )}
      <span className="ml-auto">
        <Copy text={() => jsonOf(value)} what={name.toLowerCase()} />
      </span>
    </div>
  );
}
