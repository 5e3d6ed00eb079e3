--- Author of the current line as virtual text. One request per state of the buffer.
local config = require('backstitch.config')
local server = require('backstitch.server')
local task = require('backstitch.task')
local words = require('backstitch.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('backstitch.blame')
local is_on = false
---@type table<integer, { tick: integer, runs: backstitch.BlameRun[] }>
local cache = {}
---@type uv.uv_timer_t?
local idle_timer

local AUTHORS = { user = 'you', unsaved = 'you, not saved yet', unknown = 'unknown author' }

--- Text for a line; nil for a line older than the history.
---@param run backstitch.BlameRun
---@param now integer
---@return string?
function M.text(run, now)
  if run.by == 'before' then
    return nil
  end
  local parts
  if run.by == 'agent' then
    local prompt = words.given(run.prompt)
    parts = {
      words.given(run.turn) or words.given(run.checkpoint) or '',
      prompt and ('“%s”'):format(words.line(prompt, 40)) or '',
      words.given(run.agent) or '',
      words.given(run.tool) or '',
      words.given(run.certainty) == 'certain' and '' or 'uncertain',
    }
  else
    parts = { AUTHORS[run.by] or run.by }
  end
  table.insert(parts, words.ago(run.time, now))
  return words.dotted(parts)
end

---@param buf integer
---@param runs backstitch.BlameRun[]
local function draw(buf, runs)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  if vim.api.nvim_get_current_buf() ~= buf or not is_on then
    return
  end
  local line = vim.fn.line('.') - 1
  for _, run in ipairs(runs) do
    if run.start <= line and line < run.start + run.count then
      local text = M.text(run, os.time())
      if text then
        vim.api.nvim_buf_set_extmark(buf, namespace, line, 0, {
          virt_text = { { '  ' .. text, 'BackstitchBlame' } },
          hl_mode = 'combine',
        })
      end
    end
  end
end

---@async
---@param buf integer
local function show(buf)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local client = vim.lsp.get_clients({ name = 'backstitch', bufnr = buf })[1]
  if not client then
    return
  end
  if not cache[buf] or cache[buf].tick ~= tick then
    local answer = server.request(client, 'backstitch/blame', { uri = vim.uri_from_bufnr(buf) })
    if not vim.api.nvim_buf_is_valid(buf) or vim.api.nvim_buf_get_changedtick(buf) ~= tick then
      return
    end
    cache[buf] = { tick = tick, runs = answer.runs }
  end
  draw(buf, cache[buf].runs)
end

local function show_when_idle()
  if not is_on then
    return
  end
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  idle_timer = idle_timer or assert(vim.uv.new_timer())
  idle_timer:start(
    config.get().blame.delay,
    0,
    vim.schedule_wrap(function()
      if is_on and vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_get_mode().mode ~= 'i' then
        task.run(function()
          show(buf)
        end, function() end)
      end
    end)
  )
end

function M.toggle()
  M.set(not is_on)
end

---@param on boolean
function M.set(on)
  is_on = on
  if is_on then
    return show_when_idle()
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

function M.enable()
  is_on = config.get().blame.enabled
  local group = vim.api.nvim_create_augroup('backstitch.blame', {})
  vim.api.nvim_create_autocmd(
    { 'CursorMoved', 'InsertLeave', 'BufEnter' },
    { group = group, callback = show_when_idle }
  )
  vim.api.nvim_create_autocmd('InsertEnter', {
    group = group,
    callback = function(event)
      vim.api.nvim_buf_clear_namespace(event.buf, namespace, 0, -1)
    end,
  })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    callback = function(event)
      cache[event.buf] = nil
    end,
  })
  -- the same text may have another author now
  local function invalidate()
    cache = {}
    show_when_idle()
  end
  server.on('backstitch/timelineChanged', invalidate)
  server.on('attached', invalidate)
end

return M
