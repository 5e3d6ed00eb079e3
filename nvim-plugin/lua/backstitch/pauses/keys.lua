--- Keys in the list of held calls and in their files.
local float = require('backstitch.float')
local files = require('backstitch.held_files')
local decisions = require('backstitch.pauses.decisions')
local held = require('backstitch.pauses.held')
local view = require('backstitch.pauses.view')
local task = require('backstitch.task')

local M = {}

--- Keys of the view, with what they do. `debugger`: the keys of debuggers, which are the same in each of its windows.
---@type { key: string, debugger?: string[], desc: string, run: async fun(client: vim.lsp.Client, name?: string) }[]
M.KEYS = {
  {
    key = 'c',
    debugger = { '<F5>' },
    desc = 'Continue: let the call run, with your changes. For a proposed rewind: rewind.',
    run = function(client, name)
      decisions.resume(client, name)
    end,
  },
  {
    key = 'n',
    debugger = { '<F10>' },
    desc = 'Step over: continue, and stop at the next call of this thread.',
    run = function(client, name)
      decisions.step(client, 'over', nil, name)
    end,
  },
  {
    key = 's',
    debugger = { '<F11>' },
    desc = 'Step into: continue, and stop at the next call of any thread.',
    run = function(client, name)
      decisions.step(client, 'into', nil, name)
    end,
  },
  {
    key = 'o',
    -- terminals that have no <S-F11> send <F23>
    debugger = { '<S-F11>', '<F23>' },
    desc = 'Step out: stop at the next call of the main thread, or of another turn.',
    run = function(client, name)
      decisions.step(client, 'out', nil, name)
    end,
  },
  {
    key = 'd',
    desc = 'Deny, with a reason for the model.',
    run = function(client)
      decisions.refuse(client, 'deny')
    end,
  },
  {
    key = 'k',
    desc = 'Skip: the call does not run, and the agent continues without it.',
    run = function(client)
      decisions.skip(client)
    end,
  },
  { key = 'e', desc = 'Edit the input as JSON; |:w| checks it.', run = decisions.edit_input },
  {
    key = '<Tab>',
    desc = 'Show the next file of the call.',
    run = function()
      view.go(1)
    end,
  },
  {
    key = '<S-Tab>',
    desc = 'Show the previous file.',
    run = function()
      view.go(-1)
    end,
  },
  {
    key = 'i',
    desc = 'Tell the model something.',
    run = function(client)
      decisions.inject(client)
    end,
  },
  {
    key = 'b',
    desc = "Take the session's last step out, and deny.",
    run = function(client)
      decisions.back(client)
    end,
  },
  {
    key = 'x',
    desc = 'Deny, and stop the turn.',
    run = function(client)
      decisions.refuse(client, 'stop')
    end,
  },
  {
    key = 'r',
    desc = 'Read the list anew.',
    run = function(client)
      view.schedule_read(client)
    end,
  },
}

--- Keys of the list alone.
---@type { key: string, desc: string }[]
M.LIST_KEYS = {
  { key = '<CR>', desc = 'Show the files of the call, or this file.' },
  { key = 'q', desc = 'Close. Held calls stay held.' },
}

--- Returns the words about a key, with the other keys that do the same.
---@param each { debugger?: string[], desc: string }
---@return string
function M.described(each)
  return each.debugger and ('%s (also %s)'):format(each.desc, each.debugger[1]) or each.desc
end

--- Returns the beginning of the keys in a buffer: a file that can be edited has them behind |<LocalLeader>|.
---@param buf integer
---@param is_list boolean
---@return string
local function prefix_of(buf, is_list)
  return (is_list or not vim.bo[buf].modifiable) and '' or vim.g.maplocalleader or '\\'
end

--- Lists the keys of a buffer.
---@param buf integer
---@param is_list boolean
local function show_keys(buf, is_list)
  local prefix = prefix_of(buf, is_list)
  local lines = vim.tbl_map(function(each)
    return { { ('%-8s'):format(prefix .. each.key), 'BackstitchKey' }, { (M.described(each):gsub('|', '')) } }
  end, M.KEYS)
  for _, each in ipairs(is_list and M.LIST_KEYS or {}) do
    table.insert(lines, { { ('%-8s'):format(each.key), 'BackstitchKey' }, { each.desc } })
  end
  float.open({ title = 'Held calls', lines = lines, keys = {}, footer = 'q close' })
end

--- Maps the keys in the list, or in a file.
---@param buf integer
---@param is_list boolean
function M.map(buf, is_list)
  local prefix = prefix_of(buf, is_list)
  for _, each in ipairs(M.KEYS) do
    for _, key in ipairs(vim.list_extend({ prefix .. each.key }, each.debugger or {})) do
      vim.keymap.set('n', key, function()
        local of = files.owner(buf) or view.get()
        local client = of and held.client_of(of)
        if client then
          task.run(function()
            each.run(client)
          end)
        end
      end, { buffer = buf, nowait = true, desc = each.desc })
    end
  end
  vim.keymap.set('n', 'g?', function()
    show_keys(buf, is_list)
  end, { buffer = buf, desc = 'List these keys' })
end

return M
