// The Node peers as workers, by the protocol of common.py:  node peer.mjs NAME DIRECTORY PACKAGE_DIRECTORY
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [name, directory, home] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(home, file)).href);
const log = console.log;
console.log = console.info = console.debug = () => {};

async function gemini() {
  const { ReadFileTool } = await load('dist/src/tools/read-file.js');
  const known = {
    getTargetDir: () => directory,
    validatePathAccess: () => null,
    isJitContextEnabled: () => false,
    getUsageStatisticsEnabled: () => false,
    getTelemetryEnabled: () => false,
    getFileFilteringOptions: () => ({ respectGitIgnore: false, respectGeminiIgnore: false }),
  };
  const get = (target, key) => (key in target ? target[key] : key === 'then' ? undefined : () => undefined);
  const bus = { publish() {}, subscribe() {}, unsubscribe() {} };
  const tool = new ReadFileTool(new Proxy(known, { get }), bus);
  const run = async (args) => {
    const result = await tool.build(args).execute({ abortSignal: new AbortController().signal });
    if (result.error) throw new Error(result.error.message);
    return result.llmContent;
  };
  return {
    window: (file, start, count) => run({ file_path: file, start_line: start, end_line: start + count - 1 }),
    whole: (file) => run({ file_path: file }),
  };
}

async function pi() {
  const { createReadToolDefinition } = await load('dist/core/tools/read.js');
  const tool = createReadToolDefinition(directory);
  const run = async (args) => (await tool.execute('1', args)).content.map((piece) => piece.text ?? '').join('');
  return {
    window: (file, start, count) => run({ path: file, offset: start, limit: count }),
    whole: (file) => run({ path: file }),
  };
}

const reader = await { 'gemini-cli-core': gemini, 'pi-coding-agent': pi }[name]();

async function call(request) {
  if (request.op === 'window') return reader.window(request.path, request.start, request.count);
  if (request.op === 'many') {
    const texts = [];
    for (const file of request.paths) texts.push(await reader.whole(file));
    return texts;
  }
  return null;
}

const length = (result) => (typeof result === 'string' ? result.length : result.reduce((sum, t) => sum + t.length, 0));
const since = (start) => Number(process.hrtime.bigint() - start);

log(JSON.stringify({ ready: true }));
let last = '';
for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer = {};
  if (request.op === 'dump') {
    fs.writeFileSync(request.path, typeof last === 'string' ? last : last.map((text) => `${text}\n`).join(''));
  } else {
    const ns = [];
    const lengths = new Set();
    let start = process.hrtime.bigint();
    try {
      for (let k = 0; k < (request.repeats ?? 1); k++) {
        last = '';
        start = process.hrtime.bigint();
        last = await call(request);
        ns.push(since(start));
        if (last === null) break;
        lengths.add(length(last));
      }
      answer = last === null ? { not_offered: true } : { ns, chars: Math.max(...lengths), steady: lengths.size === 1 };
    } catch (error) {
      answer = { error: String(error).slice(0, 300), ns: [since(start)] };
      last = '';
    }
  }
  log(JSON.stringify(answer));
}
