import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import styles from "./tabs.module.css";

type Tab = { value: string; label: ReactNode; className?: string };

type Props = {
  label: string;
  tabs: readonly Tab[];
  value: string;
  onChange: (value: string) => void;
  children: ReactNode;
};

/** Several views of one thing; only the chosen one is made. */
export function Tabs({ label, tabs, value, onChange, children }: Props) {
  return (
    <Base.Root value={value} onValueChange={(chosen) => onChange(String(chosen))}>
      <Base.List className={styles.list} aria-label={label}>
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className={`${styles.tab} ${tab.className ?? ""}`}
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className={styles.panel} tabIndex={-1}>
          {tab.value === value && children}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
