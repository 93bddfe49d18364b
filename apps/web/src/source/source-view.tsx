import { useQuery } from "@tanstack/react-query";
import type { Bundle } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { sourceQuery } from "../api/workflows.ts";
import { Copy } from "../controls/copy.tsx";
import { SelectField } from "../controls/field.tsx";
import { counted, size } from "../format/amount.ts";
import { FailureNotice } from "../states/failure.tsx";
import { Skeleton } from "../states/skeleton.tsx";
import styles from "./source-view.module.css";
import { SourceText } from "./source-text.tsx";

/** The texts of a version: those that it was built from, and the bundle itself. */
export function SourceView({ bundle: { hash, sources: all, bytes } }: { bundle: Bundle }) {
  const sources = ownFirst(all);
  const [chosen, choose] = useState<string | null>(null);
  const file = chosen === "" ? undefined : (sources.find((one) => one === chosen) ?? sources[0]);
  const { data: text, error, refetch } = useQuery(sourceQuery(hash, file));
  return (
    <div className={styles.source}>
      <div className={styles.head}>
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
        {text !== undefined && (
          <p className={styles.facts}>
            {counted(text.split("\n").length, "line")}, {size(text.length)}
            <Copy text={text} what="the text" />
          </p>
        )}
      </div>
      {error && <FailureNotice error={error} onRetry={() => void refetch()} />}
      {text === undefined && !error && <Skeleton lines={10} />}
      {text !== undefined && (
        <SourceText text={text} file={file ?? "bundle.esm.js"} label={file ?? "The bundle"} />
      )}
    </div>
  );
}

// What a workflow brings along from elsewhere is seldom what its reader looks for.
const ownFirst = (files: readonly string[]): string[] => {
  const isOwn = (file: string) => !file.startsWith("../") && !file.includes("node_modules");
  return [...files.filter(isOwn).toReversed(), ...files.filter((file) => !isOwn(file))];
};
