import type { Workflow } from "@uncaged/workflow-server/api-types";
import { SelectField } from "../controls/field.tsx";
import { moment } from "../format/time.ts";
import styles from "./versions.module.css";

type Props = { workflow: Workflow; version: string; onChange: (hash: string) => void };

/** Chooses the version that is looked at. */
export function VersionChoice({ workflow, version, onChange }: Props) {
  const { hash, timestamp, history } = workflow;
  const versions = [{ hash, timestamp }, ...history].toSorted((a, b) => b.timestamp - a.timestamp);
  if (versions.length < 2 && version === hash) return null;
  return (
    <div className={styles.choice}>
      <SelectField
        label="Version"
        value={version}
        onChange={({ target }) => onChange(target.value)}
      >
        {!versions.some((one) => one.hash === version) && <option>{version}</option>}
        {versions.map((one) => (
          <option key={one.hash} value={one.hash}>
            {one.hash}, {moment(one.timestamp)}
            {one.hash === hash ? " (current)" : ""}
          </option>
        ))}
      </SelectField>
    </div>
  );
}
