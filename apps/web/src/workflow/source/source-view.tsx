import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { useMemo, useRef, useState } from "react";
import { counted, size } from "../../lib/format.ts";
import { sourceQuery } from "../../lib/workflows.ts";
import { Copy } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Spacer } from "../../ui/page.tsx";
import { SourceLine, tokensOf } from "../../ui/source-line.tsx";
import { Loaded } from "../../ui/states.tsx";

/** The sources of a version and its bundle. */
export function SourceView({ bundle: { hash, sources: all, bytes } }: { bundle: Bundle }) {
  const sources = ownFirst(all);
  const [chosen, choose] = useState<string | null>(null);
  const file = chosen === "" ? undefined : (sources.find((one) => one === chosen) ?? sources[0]);
  const query = useQuery(sourceQuery(hash, file));
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2 [&>:first-child]:flex-[0_1_26rem]">
        <SelectField
          label="File"
          value={file ?? ""}
          onChange={({ target }) => choose(target.value)}
        >
          {sources.map((one) => (
            <option key={one}>{one}</option>
          ))}
          <option value="">The bundle, {size(bytes)}</option>
        </SelectField>
        {query.data !== undefined && (
          <p className="flex items-center gap-2 text-muted">
            {counted(query.data.split("\n").length, "line")}, {size(query.data.length)}
            <Copy text={query.data} what="the text" />
          </p>
        )}
      </div>
      <Loaded query={query} lines={10}>
        {(text) => (
          <SourceText text={text} file={file ?? "bundle.esm.js"} label={file ?? "The bundle"} />
        )}
      </Loaded>
    </div>
  );
}

// The workflow's own files come before files of packages.
const ownFirst = (files: readonly string[]): string[] => {
  const isOwn = (file: string) => !file.startsWith("../") && !file.includes("node_modules");
  return [...files.filter(isOwn).toReversed(), ...files.filter((file) => !isOwn(file))];
};

const lineHeight = 20;

type Props = { text: string; file: string; label: string };

/** The text of a file with line numbers. Only visible lines are rendered. */
function SourceText({ text, file, label }: Props) {
  const lines = useMemo(() => tokensOf(text, file), [text, file]);
  const widest = useMemo(() => Math.max(...text.split("\n").map(({ length }) => length)), [text]);
  const area = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => area.current,
    estimateSize: () => lineHeight,
    overscan: 30,
  });
  return (
    <div
      ref={area}
      className="max-h-[max(24rem,100dvh-19rem)] overflow-auto rounded-md border bg-surface"
      role="region"
      aria-label={label}
      tabIndex={0}
    >
      <div className="code relative my-2" style={{ minWidth: `${widest + 8}ch` }}>
        <Spacer height={virtual.getTotalSize()} />
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${start}px)` }}
          >
            <SourceLine number={index + 1} tokens={lines[index] ?? []} />
          </div>
        ))}
      </div>
    </div>
  );
}
