"""How do people reach dpsql from a terminal?"""
